#!/bin/sh
# Greets somebody.
echo "Hello"
