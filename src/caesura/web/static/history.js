// What a view showed before each change that loses something; a button brings it back.

const MOST = 30; // changes that can be undone

export class History {
  // `restore(state)` shows a state that was kept.
  constructor(button, restore) {
    Object.assign(this, { button, restore, states: [] });
    button.disabled = true;
    button.addEventListener("click", () => this.undo());
  }

  // The state must not be changed later.
  keep(state) {
    this.states = [...this.states, state].slice(-MOST);
    this.button.disabled = false;
  }

  undo() {
    const state = this.states.pop();
    this.button.disabled = !this.states.length;
    if (state) this.restore(state);
  }
}
