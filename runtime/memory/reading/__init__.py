"""What a person says, read: whole sentences, facts by key, and what a question asks for."""
