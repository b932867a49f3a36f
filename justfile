# What CI runs.
check:
    ./test

# What daily work needs, or only tests whose label contains a name: `just quick input`.
quick *NAMES:
    ./test --quick {{NAMES}}

# Run one end-to-end test by name.
e2e NAME:
    cargo test --test e2e {{NAME}}

# Write anew what is written from code: the command line reference, the plugin, clients' files after an install, and the table of what languages do.
bless:
    STEAD_BLESS=1 cargo test -p stead-cli reference
    STEAD_BLESS=1 cargo test -p stead-cli u4_the_plugin_in_the_repository_is_the_one_that_is_written
    STEAD_BLESS=1 cargo test -p stead-install golden
    STEAD_BLESS=1 cargo test -p stead-config page_tests
    STEAD_BLESS=1 cargo test --test conformance the_page_about_languages_is_true

# Measure stead against floors, side by side (docs/PERFORMANCE.md).
bench *ARGS:
    ./bench {{ARGS}}

# Draw the picture of the README from a real run.
record: dist
    docs/record.py

# Make all packages: target/packages.
package:
    ./package

# Build the binary that is shipped: target/dist/stead.
dist:
    ./dist
