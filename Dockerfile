# abiscan in a container: docker build -t abiscan . && docker run --rm --network none -v "$PWD:/work:ro" abiscan dist/*.whl
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
# The wheel is of the first stage: its sources and build tools are not in the image.
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir /wheels/*.whl \
    && useradd --uid 10001 --create-home --shell /usr/sbin/nologin abiscan
USER 10001
WORKDIR /work
ENTRYPOINT ["abiscan"]
CMD ["--help"]
