# docker build -t reprieve:0.1.0 .
ARG PYTHON=3.11

FROM python:${PYTHON} AS build
WORKDIR /src
RUN python -m venv /build && python -m venv /web && python -m venv /opt/reprieve
COPY requirements requirements
RUN /build/bin/pip install --no-cache-dir --require-hashes -r requirements/dev.txt \
 && /web/bin/pip install --no-cache-dir --require-hashes -r requirements/web.txt \
 && /opt/reprieve/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
COPY . .
RUN /web/bin/python hack/page.py
# The kernels are compiled with the locked setuptools and Cython, not with whatever an isolated build would fetch.
RUN /build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /opt/reprieve/bin/pip install --no-cache-dir --no-deps --no-index /wheels/*.whl \
 && /opt/reprieve/bin/python -m pip uninstall --yes pip

FROM python:${PYTHON}-slim
COPY --from=build /opt/reprieve /opt/reprieve
ENV PATH=/opt/reprieve/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["reprieve"]
CMD ["serve", "--config", "/etc/reprieve/configuration"]
