// The sound of a piano, made of oscillators and noise: nothing is loaded.

const MOST = 60; // notes that sound at once
const OCTAVE = 12;
const HARMONICS = 24;
const STRUCK_AT = 1 / 8; // of the string: where the hammer hits it
const WET = 0.2;
const ROOM = 1.5; // seconds until the room is silent
const frequency = (key) => 440 * 2 ** ((key - 69) / OCTAVE);

export class Piano {
  // `context` may be one that does not sound but computes.
  constructor(context) {
    this.context = context;
    this.waves = new Map();
    this.sounding = [];
    this.output = context.createGain();
    const soft = context.createBiquadFilter();
    soft.type = "lowpass";
    this.highest = context.sampleRate / 2; // what a filter can be told
    soft.frequency.value = Math.min(9000, this.highest);
    const level = context.createDynamicsCompressor();
    level.threshold.value = -18;
    level.ratio.value = 5;
    const room = context.createConvolver();
    room.buffer = impulse(context);
    const wet = context.createGain();
    wet.gain.value = WET;
    this.output.connect(soft);
    soft.connect(level);
    soft.connect(room).connect(wet).connect(level);
    this.limit = context.createWaveShaper();
    this.limit.curve = Float32Array.from({ length: 257 }, (_, n) => 0.95 * Math.tanh((n - 128) / 96));
    level.connect(this.limit).connect(context.destination);
    this.noise = noise(context, 0.04);
  }

  // Times are those of the context; the velocity is that of MIDI.
  strike({ key, velocity, start, end }) {
    const { context } = this;
    const force = velocity / 127;
    const loud = 0.3 * force ** 1.5;
    const pitch = frequency(key);
    const height = (key - 21) / 87;
    const attack = 0.006 - 0.004 * height;
    const ring = 3.5 * 2 ** (-(key - 48) / 15); // low strings ring longer
    const note = context.createGain();
    const tone = context.createBiquadFilter();
    tone.type = "lowpass";
    tone.Q.value = 0.3;
    const [shrill, dull] = [pitch * (4 + 14 * force) + 300, pitch * (2 + 4 * force) + 200];
    tone.frequency.setValueAtTime(Math.min(shrill, this.highest), start);
    tone.frequency.setTargetAtTime(Math.min(dull, this.highest), start, ring / 5);
    const place = context.createStereoPanner();
    place.pan.value = 0.7 * (height - 0.5);
    note.connect(tone).connect(place).connect(this.output);
    // The body of the tone, which fades fast and then slowly, and what is bright in its beginning.
    const body = this.partials(key, "body", start, note);
    body.gain.setValueAtTime(0, start);
    body.gain.linearRampToValueAtTime(loud, start + attack);
    body.gain.setTargetAtTime(loud * 0.45, start + attack, 0.1 + ring / 12);
    body.gain.setTargetAtTime(0, start + attack + 0.25 + ring / 8, ring);
    const bright = this.partials(key, "bright", start, note);
    bright.gain.setValueAtTime(0, start);
    bright.gain.linearRampToValueAtTime(loud * (0.25 + 0.75 * force), start + attack);
    bright.gain.setTargetAtTime(0, start + attack, 0.05 + ring / 14);
    const hammer = context.createBufferSource();
    hammer.buffer = this.noise;
    const thump = context.createGain();
    thump.gain.value = loud * 0.12;
    hammer.connect(thump).connect(note);
    hammer.start(start);
    // The damper falls; no note is so short that it could not be heard.
    const damped = Math.max(end, start + 0.08);
    note.gain.setValueAtTime(1, damped);
    note.gain.setTargetAtTime(0, damped, 0.07 - 0.03 * height);
    const stop = damped + 0.5;
    for (const { oscillator } of [body, bright]) oscillator.stop(stop);
    this.sounding = this.sounding.filter((one) => one.stop > start);
    if (this.sounding.length >= MOST) fade(this.sounding.shift().note, start);
    this.sounding.push({ note, stop });
  }

  // A wave of many harmonics: those of high keys are weak, and none is above what can be heard.
  partials(key, sort, start, into) {
    const { context } = this;
    const octave = Math.floor(key / OCTAVE);
    const name = `${sort}${octave}`;
    if (!this.waves.has(name)) {
      const real = new Float32Array(HARMONICS + 1);
      const imaginary = new Float32Array(HARMONICS + 1);
      const dark = 0.06 * 1.7 ** Math.max(octave - 3, 0) + (sort === "body" ? 0.25 : 0);
      for (let n = sort === "body" ? 1 : 3; n <= HARMONICS; n++) {
        imaginary[n] = (Math.sin(Math.PI * n * STRUCK_AT) / n) * Math.exp(-dark * (n - 1));
      }
      this.waves.set(name, context.createPeriodicWave(real, imaginary));
    }
    const oscillator = context.createOscillator();
    oscillator.setPeriodicWave(this.waves.get(name));
    oscillator.frequency.value = frequency(key);
    oscillator.detune.value = sort === "bright" ? 4 : 0; // stiff strings: high partials are sharp
    const envelope = context.createGain();
    oscillator.connect(envelope).connect(into);
    oscillator.start(start);
    return { oscillator, gain: envelope.gain };
  }

  // Nothing more is struck, and what sounds dies away.
  leave() {
    setTimeout(() => this.limit.disconnect(), 2000 * ROOM);
  }

  // At once, but without a click.
  silence() {
    fade(this.output, this.context.currentTime);
    setTimeout(() => this.limit.disconnect(), 150);
  }
}

function fade({ gain }, at) {
  gain.cancelScheduledValues(at);
  gain.setTargetAtTime(0, at, 0.02);
}

function noise(context, seconds) {
  const buffer = context.createBuffer(1, Math.ceil(seconds * context.sampleRate), context.sampleRate);
  const samples = buffer.getChannelData(0);
  let last = 0;
  for (let n = 0; n < samples.length; n++) {
    last += 0.15 * (Math.random() * 2 - 1 - last); // a dull sound, as of felt
    samples[n] = 3 * last * (1 - n / samples.length) ** 2;
  }
  return buffer;
}

// What a small room answers to a clap: noise that dies away, and gets duller.
function impulse(context) {
  const { sampleRate } = context;
  const buffer = context.createBuffer(2, Math.ceil(ROOM * sampleRate), sampleRate);
  for (const channel of [0, 1]) {
    const samples = buffer.getChannelData(channel);
    let last = 0;
    for (let n = Math.floor(0.01 * sampleRate); n < samples.length; n++) {
      const gone = n / samples.length;
      last += (0.6 - 0.5 * gone) * (Math.random() * 2 - 1 - last);
      samples[n] = last * Math.exp(-6 * gone);
    }
  }
  return buffer;
}
