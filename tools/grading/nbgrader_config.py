# nbgrader's configuration for this course. It was copied here by `course_lib build --edition homework`, which
# doesn't change it again: adapt it as you like. The guide is docs/grading.md in the course.
import warnings

from sqlalchemy.exc import SAWarning

warnings.simplefilter("ignore", SAWarning)  # about nbgrader's own database code
c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "attention-course"

# What students get instead of a solution; exercises with a stub of their own get that.
c.ClearSolutions.code_stub = {"python": 'raise NotImplementedError("Your turn")'}
c.GenerateAssignment.preprocessors.insert(4, "tools.grading.nbgrader_steps.LearnersStub")

# Renamed, unreadable, oversized and incomplete submissions.
c.Autograde.pre_convert_hook = "tools.grading.nbgrader_steps.warn_about_files"
c.Autograde.exporter_class = "tools.grading.nbgrader_steps.ReadableSubmission"
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "tools.grading.nbgrader_steps.RestoreChecks",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.exclude_overwriting = {"14_the_transformer": ["my_transformer.py"]}  # students write this file

# The list of points in the feedback names the exercises.
c.GenerateFeedback.exporter_class = "tools.grading.nbgrader_steps.FeedbackByExercise"

c.Execute.timeout = 600  # seconds for a cell; some train a network
c.Execute.extra_arguments = [
    "--HistoryManager.hist_file=:memory:",
    "--IPKernelApp.log_level=40",  # no warning about connections that stay on this machine
    "--IPKernelApp.ignore_cwd=True",  # a student's file called torch.py must not replace torch
]
