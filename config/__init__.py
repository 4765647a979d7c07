"""How the product is configured and served: environment, settings, URLs, WSGI and gunicorn."""
