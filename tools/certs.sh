# Sourced: installers trust what this machine trusts, as behind a proxy that signs anew; what you set yourself counts.
for bundle in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt \
    /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem; do
    [ -z "$bundle" ] || [ ! -r "$bundle" ] || { export PIP_CERT="${PIP_CERT:-$bundle}"; break; }
done
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}" UV_NATIVE_TLS="${UV_NATIVE_TLS:-true}"
