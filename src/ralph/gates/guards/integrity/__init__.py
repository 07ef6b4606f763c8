"""Did the result come about honestly? These guards accuse."""
