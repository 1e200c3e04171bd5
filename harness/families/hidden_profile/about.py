"""What this family measures, in the line that catalogues of tasks show."""

LINE = "A group shares what each member alone knows, and votes; judged by whether the vote is what all facts call for"
