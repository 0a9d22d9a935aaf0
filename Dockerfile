# docker build -t reprieve:0.1.0 .
# A release gives both bases by digest (release/bases.env). The same bases and commit give the same image.
ARG BUILD_BASE=python:3.11
ARG RUN_BASE=python:3.11-slim

FROM ${BUILD_BASE} AS build
WORKDIR /src
# No pip gets into the folder that the image has.
ENV PYTHONHASHSEED=0 LC_ALL=C.UTF-8
RUN python -m venv /build && python -m venv /web && python -m venv --without-pip /opt/reprieve
COPY requirements requirements
# Behind a mirror of packages: docker build --secret id=pip,src=/etc/pip.conf ... None of these files gets into the image.
RUN --mount=type=secret,id=certificates,target=/etc/ssl/certs/ca-certificates.crt \
    --mount=type=secret,id=pip,target=/etc/pip.conf \
    /build/bin/pip install --no-cache-dir --require-hashes -r requirements/dev.txt \
 && /web/bin/pip install --no-cache-dir --require-hashes -r requirements/web.txt \
 && /build/bin/pip --python /opt/reprieve/bin/python install --no-cache-dir --no-compile --require-hashes -r requirements/runtime.txt
COPY . .
RUN --mount=type=secret,id=certificates,target=/etc/ssl/certs/ca-certificates.crt \
    --mount=type=secret,id=npm,target=/root/.npmrc \
    /web/bin/python hack/page.py
# The kernels are compiled with the locked setuptools and Cython, not with whatever an isolated build would fetch.
# They have no debug information: it names folders.
RUN CFLAGS="$(python -c 'import sysconfig; print(sysconfig.get_config_var("CFLAGS"))') -g0" \
    /build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /build/bin/pip --python /opt/reprieve/bin/python install --no-cache-dir --no-compile --no-deps --no-index /wheels/*.whl
# A compiled module names the hash of its source. By default it names the time, which is another one each time. -f: also in place
# of those that were compiled when pip imported them.
RUN /opt/reprieve/bin/python -m compileall -q -f -j 1 --invalidation-mode unchecked-hash /opt/reprieve/lib

FROM ${RUN_BASE}
COPY hack/release/strip.py /tmp/strip.py
RUN python /tmp/strip.py && rm /tmp/strip.py
COPY --from=build /opt/reprieve /opt/reprieve
ENV PATH=/opt/reprieve/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["reprieve"]
CMD ["serve", "--config", "/etc/reprieve/configuration"]
