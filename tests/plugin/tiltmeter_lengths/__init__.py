"""How many tokens does a model need for sentences about one group or another?"""
