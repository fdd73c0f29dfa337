"""The thinking over what the person said: rules that draw memories from turns, recall, and answers."""
