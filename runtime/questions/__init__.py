"""The one reader of questions: a text is read once into a `Question`, which search, ask and chat act on."""
