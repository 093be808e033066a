"""Whether something speaks TLS at the broker's port."""

import socket
import ssl
import sys

context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
try:
    with socket.create_connection(("127.0.0.1", 8883), 20) as link:
        context.wrap_socket(link).close()
except OSError:
    sys.exit(1)
