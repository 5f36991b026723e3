"""The lecture's slides: offline, complete, with notes for the speaker."""

import re

from test_pages import FAULTS_OF_FIGURES, FORMULAS_NOT_TYPESET


def test_slides(visit):
    visit = visit()
    page = visit.open("slides")
    page.wait_for_function("() => window.Reveal?.isReady()")
    slides = page.evaluate("Reveal.getTotalSlides()")
    assert slides >= 12
    for number in range(slides):
        page.evaluate("number => Reveal.slide(number)", number)
        page.wait_for_function(
            "() => [...Reveal.getCurrentSlide().querySelectorAll('.book-figure')]"
            ".every((figure) => figure.dataset.state === 'drawn')"
        )
        # figures of other slides have no size while these are hidden, or were never drawn
        assert set(page.evaluate(FAULTS_OF_FIGURES)) <= {"no size", "not begun"}, f"slide {number + 1}"
        overflow = page.evaluate("Reveal.getCurrentSlide().scrollHeight - Reveal.getConfig().height")
        assert overflow <= 0, f"slide {number + 1} is {overflow} pixels too high"
        minutes = re.search(r"\(\d+–(\d+) min\)", page.evaluate("Reveal.getSlideNotes() ?? ''"))
        assert minutes, f"slide {number + 1} has no notes that say when"
    assert int(minutes[1]) == 50
    assert page.locator(".book-figure").count() >= 5
    assert not page.evaluate(FORMULAS_NOT_TYPESET)
    assert not visit.problems
