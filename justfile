# What CI runs.
check:
    ./test

# What daily work needs, or only tests whose label contains a name: `just quick input`.
quick *NAMES:
    ./test --quick {{NAMES}}

# Run one end-to-end test by name.
e2e NAME:
    cargo test --test e2e {{NAME}}

# Write the command line reference anew after a help text has changed.
bless:
    STEAD_BLESS=1 cargo test -p stead-cli reference

# Measure stead against floors, side by side (docs/PERFORMANCE.md).
bench *ARGS:
    ./bench {{ARGS}}

# Build the binary that is shipped: target/dist/stead.
dist:
    ./dist
