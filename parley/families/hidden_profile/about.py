"""Summary of this family for catalogues of tasks, in one line."""

LINE = "A group shares what each member alone knows, and votes; judged by whether the vote is what all facts call for"
