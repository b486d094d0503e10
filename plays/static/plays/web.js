// What pages do beyond plain HTML: drop zones, uploads with progress and cancel, forms that submit
// themselves, buttons that may be pressed once. Every page works without this file.

"use strict";

const DropZone = {
  start(zone) {
    const field = zone.querySelector("input[type=file]");
    let depth = 0;
    const over = (step) => {
      depth = Math.max(0, depth + step);
      zone.classList.toggle("is-over", depth > 0);
    };
    zone.addEventListener("dragenter", (event) => {
      event.preventDefault();
      over(1);
    });
    zone.addEventListener("dragover", (event) => event.preventDefault());
    zone.addEventListener("dragleave", () => over(-1));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      over(-depth);
      DropZone.take(zone, field, event.dataTransfer.files);
    });
    field.addEventListener("change", () => DropZone.send(zone, field));
  },

  take(zone, field, files) {
    if (files.length !== 1) {
      DropZone.refuse(zone, files.length ? "Drop one file at a time." : "That was no file.");
      return;
    }
    field.files = files;
    DropZone.send(zone, field);
  },

  // The server checks again; this only saves sending a file that it will refuse.
  problemWith(zone, file) {
    const limit = Number(zone.dataset.limitMb);
    if (file.size === 0) return `${file.name} is empty.`;
    if (file.size > limit * 1024 * 1024) {
      const size = (file.size / 1024 / 1024).toFixed(1);
      return `${file.name} has ${size} MB; the limit is ${limit} MB.`;
    }
    return "";
  },

  send(zone, field) {
    const file = field.files[0];
    if (!file) return;
    const problem = DropZone.problemWith(zone, file);
    if (problem) {
      DropZone.refuse(zone, problem);
      return;
    }
    DropZone.refuse(zone, "");
    if (zone.dataset.progress === undefined) zone.closest("form").requestSubmit();
    else Upload.send(zone, field, file);
  },

  refuse(zone, sentence) {
    zone.querySelector(".errors").textContent = sentence;
    if (sentence) zone.querySelector("input[type=file]").value = "";
  },
};

const Upload = {
  send(zone, field, file) {
    const form = zone.closest("form");
    const request = new XMLHttpRequest();
    const parts = new FormData(form);
    const panel = zone.querySelector(".progress");
    const cancel = panel.querySelector("button");
    const stop = () => request.abort();
    const finish = (sentence) => {
      panel.hidden = true;
      cancel.removeEventListener("click", stop);
      DropZone.refuse(zone, sentence);
    };
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => Upload.show(panel, file, event));
    request.addEventListener("abort", () => finish("The upload was cancelled; nothing was stored."));
    request.addEventListener("error", () => finish("The connection broke off; nothing was stored."));
    request.addEventListener("load", () => Upload.end(request, finish));
    cancel.addEventListener("click", stop);
    panel.hidden = false;
    request.send(parts);
  },

  show(panel, file, event) {
    const bar = panel.querySelector("progress");
    const text = panel.querySelector("[data-progress-text]");
    if (!event.lengthComputable) return;
    bar.max = event.total;
    bar.value = event.loaded;
    const done = event.loaded === event.total;
    const percent = Math.floor((event.loaded / event.total) * 100);
    text.textContent = done ? `Reading ${file.name}` : `${file.name}: ${percent} %`;
    if (done) bar.removeAttribute("value");
  },

  end(request, finish) {
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      answer = { error: "The server gave no answer that can be read; look at Uploads before trying again." };
    }
    if (answer.location) window.location.assign(answer.location);
    else finish(answer.error);
  },
};

// A second press would only repeat the first; the server refuses it too.
const PressOnce = {
  start(form) {
    let pressed = [];
    form.addEventListener("submit", () => {
      window.setTimeout(() => {
        pressed = [...form.querySelectorAll("button:enabled")];
        for (const button of pressed) button.disabled = true;
      });
    });
    // Coming back by the browser's history shows the page as it was left.
    window.addEventListener("pageshow", () => {
      for (const button of pressed) button.disabled = false;
    });
  },
};

// Moments are sent as UTC and read in the zone of whoever reads them.
const LOCAL_MOMENT = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
for (const time of document.querySelectorAll("time[data-local]")) {
  time.textContent = LOCAL_MOMENT.format(new Date(time.dateTime));
}

for (const zone of document.querySelectorAll("[data-drop]")) DropZone.start(zone);
for (const form of document.querySelectorAll("[data-press-once]")) PressOnce.start(form);
for (const field of document.querySelectorAll("[data-submits]")) {
  field.addEventListener("change", () => field.form.requestSubmit());
}
