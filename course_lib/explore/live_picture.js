// The widget of an explorable: its goals, the picture, a play button where a control is time, and the picture in
// words, which a screen reader says when it changes.
export default {
  render({ model, el }) {
    const goals = make("div", el, { class: "course-goals" });
    const figure = make("figure", el, { class: "course-live" });
    const place = make("div", figure, { class: "course-stage" });
    const caption = make("figcaption", figure, { "aria-live": "polite", class: "course-announcement" });
    const note = make("p", el, { class: "course-note", role: "alert" });
    const announcement = make("p", el, { class: "course-announcement", role: "status" }); // for screen readers only
    const live = livePicture(place, (content) => model.send(content));
    const label = model.get("play");
    const play = label ? playButton(make("div", el, { class: "course-play-row" }), label, (to) => live.send("play", { play: to })) : null;

    let updates = 0;
    function show() {
      place.dataset.updates = ++updates; // for tests, as are the answers
      live.show(model.get("svg"));
      caption.textContent = model.get("alt");
    }
    const announce = () => (announcement.textContent = model.get("announcement"));
    const showGoals = () => listGoals(model, goals);
    function receive(message) { // every report is answered, even if the picture stays the same
      note.textContent = message.error ?? "";
      if (message.last) play?.stop();
      requestAnimationFrame(() => live.answered());
      place.dataset.answers = Number(place.dataset.answers ?? 0) + 1;
    }
    model.on("change:svg", show);
    model.on("change:announcement", announce);
    model.on("change:goals", showGoals);
    model.on("msg:custom", receive);
    showGoals();
    announce();
    show();
    return () => {
      play?.stop();
      model.off("change:svg", show);
      model.off("change:announcement", announce);
      model.off("change:goals", showGoals);
      model.off("msg:custom", receive);
    };
  },
};
