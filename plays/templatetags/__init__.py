"""What templates say in one word: icons, status chips, numbers, the workspace that is looked at."""
