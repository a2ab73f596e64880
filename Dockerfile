# tradefair as a container: `docker build -t tradefair .`, or compose.yaml for a host with a store and a viewer.
# The same steps run without Docker: python -m release.container FOLDER (docs/how-to/install.md).

# Python and Debian are fixed, their patches come with each build. A release fixes them too:
#   docker build --build-arg BASE=python:3.13-slim-trixie@sha256:… .
ARG BASE=python:3.13-slim-trixie

FROM ${BASE} AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY mcp_servers mcp_servers
COPY agent_graphs agent_graphs
COPY frameworks frameworks
COPY evaluation evaluation
RUN python -m pip install --no-cache-dir --upgrade "pip>=25.3"
# The wheel alone goes on: the image holds what `pip install tradefair` gives, and none of these sources.
RUN python -m pip wheel --no-cache-dir --no-deps --build-constraint constraints.txt --wheel-dir dist .
RUN python -m venv /opt/tradefair
RUN /opt/tradefair/bin/python -m pip install --no-cache-dir --constraint constraints.txt \
    "$(echo dist/tradefair-*.whl)[postgres,zstd]"
RUN mkdir -p /data

FROM ${BASE}
LABEL org.opencontainers.image.title="tradefair" \
      org.opencontainers.image.description="Economic markets as MCP servers: let any agent take a seat, and audit what it did." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.vendor="The tradefair authors" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/tradefair /opt/tradefair
# Named by number: it needs no entry in /etc/passwd, and Kubernetes can see that it is not root.
COPY --from=build --chown=10001:10001 /data /data
ENV PATH="/opt/tradefair/bin:$PATH" \
    HOME="/data" \
    PYTHONUNBUFFERED="1" \
    PYTHONDONTWRITEBYTECODE="1" \
    TRADEFAIR_CONTROL_URL="http://127.0.0.1:8766"
WORKDIR /data
VOLUME ["/data"]
USER 10001:10001
EXPOSE 8765
# A market that is open: `docker exec … tradefair control create MARKET` makes episodes. Restarted, it goes on.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8765/health', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["tradefair"]
CMD ["host", "--control-port", "8766", "--host", "0.0.0.0", "--allow-remote", "--port", "8765", "--name", "localhost", "--name", "127.0.0.1", "--out", "/data/host", "--continue"]
