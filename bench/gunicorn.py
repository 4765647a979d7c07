"""How gunicorn serves the floor: its own threaded workers, as many as the product has."""

import os

bind = f"127.0.0.1:{os.environ['PORT']}"
workers = int(os.environ.get("WEB_WORKERS", "2"))
worker_class = "gthread"
threads = int(os.environ.get("WEB_THREADS", "4"))
keepalive = 75
control_socket_disable = True
