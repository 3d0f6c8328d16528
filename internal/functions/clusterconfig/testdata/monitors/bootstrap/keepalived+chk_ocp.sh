#!/bin/sh
/usr/bin/timeout 0.9 /usr/bin/curl -o /dev/null -kLfs https://localhost:6443/readyz
