"""Two evaluations held against each other, as a document: what it is made from, a file per form."""
