"""The networks in plain torch; static ranks and no data-dependent branches let every target lower them."""
