"""Results as tables for documents, and as one HTML page with plots."""
