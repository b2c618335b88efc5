"""What a lesson asks: quizzes, guesses before a picture opens, explanations in one's own words.

question.py         a question, read from the lesson's quiz.json, and the marking of an answer
question_card.py    what the cards on the page share; static/ holds their scripts and style
quiz.py             several questions, with feedback on each try
guess.py            a prediction or an estimate, committed before the truth is shown
explanation.py      a text, beside a model answer
markup.py           short texts with $LaTeX$ and `code`, as safe HTML
"""
