"""What a lesson asks: quizzes, predictions, estimates, and explanations in the learner's own words.

question.py         a question, read from the lesson's quiz.json, and the marking of an answer
question_card.py    what the cards on the page share; static/ holds their scripts and style
quiz.py             several questions, with feedback on each try
guess.py            a prediction or an estimate, made before the answer is shown
explanation.py      a text, compared with a model answer
markup.py           short texts with $LaTeX$ and `code`, as safe HTML
"""
