# Somebody is greeted by name, and the world if there is no name.
expect "greets by name" "Hello, Ada!" "$(sh bin/greet.sh Ada)"
expect "greets the world" "Hello, world!" "$(sh bin/greet.sh)"
