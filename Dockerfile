# Dockerfile: builds the OpenMP version and shows auto beside a plain parallel CSR loop: docker build -t spmv . && docker run spmv
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends gcc make libc6-dev pkg-config libjansson-dev libarchive-dev \
    zlib1g-dev libhwloc-dev python3 && rm -rf /var/lib/apt/lists/*
WORKDIR /spmv
COPY . .
# Any x86-64 may run the image: kernels with vector instructions are chosen when the program runs.
RUN make MARCH=x86-64
CMD ["./spmv", "-k", "csr_rows,auto", "--iters=1000"]
