"""Songs as sound: pitch, time, loudness and silence, measured in the files that are written."""

import wave
from pathlib import Path

import mido
import numpy as np
import pytest

from caesura.errors import CaesuraError, CaesuraWarning
from caesura.kinds import Score, Song
from caesura.kinds.music import sound
from caesura.kinds.music.midi import END_OF_TRACK, TEMPO, Event
from caesura.kinds.music.piano import RATE, RELEASE, tone
from demo.tune import song as greensleeves
from scores import small_score
from songs import content, ode_to_joy, random_song

TAIL = RELEASE + sound.ECHO / RATE  # seconds after the last bar


def heard(path: Path) -> np.ndarray:
    """The samples of a WAV file, from -1 to 1: [samples, 2]."""
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (2, 2, RATE)
        content = file.readframes(file.getnframes())
    return np.frombuffer(content, "<i2").reshape(-1, 2) / 32_768


def notes(*each: tuple[int, int, int, int], end: int = 1000, more: tuple[Event, ...] = ()) -> Song:
    """A song of notes (tick, tick, key, velocity), with 1000 ticks a second."""
    events = [*more]
    for start, stop, key, velocity in each:
        events.append(Event(start, bytes([0x90, key, velocity])))
        events.append(Event(stop, bytes([0x80, key, 64])))
    events.sort(key=lambda event: event.tick)
    return Song(500, ((*events, Event(end, END_OF_TRACK + b"\0")),), 0)


def loudness(samples: np.ndarray, first: float, last: float) -> float:
    """The root of the mean square between two times."""
    part = samples[round(first * RATE) : round(last * RATE)]
    return float(np.sqrt(np.mean(part**2)))


def peak_near(samples: np.ndarray, wanted: float) -> tuple[float, float]:
    """The strongest frequency within a semitone of this one, and its share of the strongest of all.

    A parabola finds the peak between the points of the transform.
    """
    power = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) + 1e-12
    place = wanted * len(samples) / RATE
    first = round(place / 2 ** (1 / 12))
    peak = first + int(power[first : round(place * 2 ** (1 / 12)) + 1].argmax())
    left, middle, right = np.log(power[peak - 1 : peak + 2])
    shift = (left - right) / (2 * (left - 2 * middle + right))
    return (peak + shift) * RATE / len(samples), power[peak] / power.max()


@pytest.mark.parametrize("key", [57, 60, 69, 76, 88, 100])
def test_a_key_has_the_pitch_of_equal_temperament(key, tmp_path):
    notes((0, 1000, key, 80)).save(tmp_path / "a.wav")
    samples = heard(tmp_path / "a.wav")
    wanted = 440 * 2 ** ((key - 69) / 12)
    found, share = peak_near(samples[:RATE].mean(axis=1), wanted)
    assert 1200 * abs(np.log2(found / wanted)) < 3  # cents
    assert share > 0.5


@pytest.mark.parametrize("key", [21, 33, 45])
def test_the_partials_of_a_low_key_are_multiples_of_its_pitch_and_a_little_sharp(key):
    samples = tone(key, 90, 4.0)[: 4 * RATE]
    power = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    base = 440 * 2 ** ((key - 69) / 12) * len(samples) / RATE
    for number in (2, 3, 4, 5):
        near = slice(round((number - 0.4) * base), round((number + 0.4) * base))
        ratio = (near.start + int(power[near].argmax())) / base / number
        assert 0.999 < ratio < 1.005


def test_notes_begin_when_the_tempo_says(tmp_path):
    slower = Event(500, TEMPO + b"\3" + (1_000_000).to_bytes(3, "big"))  # twice as slow
    song = notes(
        (250, 300, 72, 90), (750, 800, 76, 90), (1500, 1550, 79, 90), end=2000, more=(slower,)
    )
    song.save(tmp_path / "a.wav")
    samples = np.abs(heard(tmp_path / "a.wav")).max(axis=1)
    assert samples[: round(0.25 * RATE)].max() == 0
    for second in (0.25, 0.5 + 2 * 0.25, 0.5 + 2 * 1.0):
        before = samples[round((second - 0.02) * RATE) : round(second * RATE)].max()
        after = samples[round(second * RATE) : round((second + 0.01) * RATE)].max()
        assert after > 4 * before
        assert after > 0.05


def test_it_is_silent_where_nothing_sounds(tmp_path):
    notes((1000, 1500, 60, 127), (9000, 9500, 60, 127), end=12_000).save(tmp_path / "a.wav")
    samples = heard(tmp_path / "a.wav")
    assert len(samples) == round((12 + RELEASE) * RATE) + sound.ECHO
    assert not samples[:RATE].any()
    assert loudness(samples, 1, 1.5) > 0.03
    assert not samples[round((1.5 + TAIL) * RATE) : 9 * RATE].any()
    assert not samples[round((9.5 + TAIL) * RATE) :].any()


def test_a_song_without_notes_is_silent(tmp_path):
    notes(end=500).save(tmp_path / "a.wav")
    assert not heard(tmp_path / "a.wav").any()


def test_a_key_is_let_go_at_the_end_of_its_note_unless_the_pedal_is_down(tmp_path):
    pedal = Event(100, bytes([0xB0, 64, 127])), Event(2000, bytes([0xB0, 64, 0]))
    for name, more in {"dry": (), "pedal": pedal, "stays": pedal[:1]}.items():
        notes((0, 500, 60, 80), end=4000, more=more).save(tmp_path / f"{name}.wav")
    dry, held, stays = (heard(tmp_path / f"{name}.wav") for name in ("dry", "pedal", "stays"))
    np.testing.assert_allclose(dry[: RATE // 2], held[: RATE // 2], atol=2 / 32_768)
    assert loudness(dry, 1.5, 2) < 0.2 * loudness(held, 1.5, 2)
    assert loudness(held, 3, 3.5) < 0.2 * loudness(stays, 3, 3.5)


def test_a_tone_fades_and_its_upper_partials_faster():
    samples = tone(48, 100, 3.0)
    early, late = (samples[at : at + RATE // 2] for at in (RATE // 10, 2 * RATE))
    assert 0 < np.std(late) < 0.4 * np.std(early)
    assert _brightness(late) < 0.9 * _brightness(early)
    assert np.std(tone(84, 100, 3.0)[2 * RATE : 3 * RATE]) < 0.3 * np.std(late)


def test_velocity_makes_a_tone_louder_and_brighter():
    soft, loud = (tone(60, velocity, 0.5) for velocity in (30, 110))
    assert np.std(loud) > 4 * np.std(soft)
    assert _brightness(loud) > 1.3 * _brightness(soft)


def _brightness(samples: np.ndarray) -> float:
    """The mean frequency, weighted by power."""
    power = np.abs(np.fft.rfft(samples)) ** 2
    return float(np.average(np.fft.rfftfreq(len(samples), 1 / RATE), weights=power))


def test_a_tone_is_the_sum_of_its_damped_sines():
    """The product of matrices against the sum itself, while the key is held."""
    from caesura.kinds.music.piano import ATTACK, SHARE, _string

    string, samples = _string(64), tone(64, 127, 0.2)
    spectrum = string.strengths * np.exp(
        -string.frequencies / (3200 * (string.frequencies[0] / 261.6) ** 0.4)
    )
    spectrum /= np.linalg.norm(spectrum)
    parts = [*(SHARE * spectrum), *((1 - SHARE) * spectrum)]
    time = np.arange(round(ATTACK * RATE), round(0.2 * RATE))
    total = np.zeros(len(time))
    for strength, fading, turning in zip(parts, *string.growth, strict=True):
        total += strength * np.exp(fading * time) * np.sin(turning * time)
    np.testing.assert_allclose(samples[time], total, atol=2e-5)


def test_many_loud_notes_at_once_are_not_clipped(tmp_path):
    notes(*((0, 900, key, 127) for key in range(21, 109))).save(tmp_path / "a.wav")
    samples = np.abs(heard(tmp_path / "a.wav"))
    assert 0.9 < samples.max() < 1 - 2 / 32_768
    steps = np.array([[-9.0, -0.7, -0.2, 0.0, 0.3, 0.71, 0.8, 9.0]])
    softened = sound._soften(np.repeat(steps, 2, axis=0))[0]
    assert (np.diff(softened) > 0).all()
    assert np.array_equal(softened[1:5], steps[0, 1:5])


def test_low_keys_are_on_the_left_and_high_ones_on_the_right(tmp_path):
    for name, key in (("low", 30), ("high", 95)):
        notes((0, 900, key, 90)).save(tmp_path / f"{name}.wav")
    low, high = (np.std(heard(tmp_path / f"{name}.wav"), axis=0) for name in ("low", "high"))
    assert low[0] > 1.2 * low[1]
    assert high[1] > 1.2 * high[0]


def test_a_song_always_sounds_the_same(tmp_path):
    for name in "ab":
        greensleeves().save(tmp_path / f"{name}.wav")
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()


def test_blocks_are_joined_without_a_seam(monkeypatch):
    played = sound.play(greensleeves(), 0, 6 * 240 * 3)
    whole = np.concatenate([*sound.mix(played, 6.0)])
    monkeypatch.setattr(sound, "BLOCK", 50_000)
    sound._room.cache_clear()
    parts = [*sound.mix(played, 6.0)]
    sound._room.cache_clear()
    assert len(parts) > 6
    assert np.abs(np.concatenate(parts).astype(int) - whole).max() <= 2


def test_some_bars_of_a_song(tmp_path):
    song = greensleeves()
    song.save_sound(tmp_path / "a.wav", bars=(6, 8))
    song.save(tmp_path / "all.wav")
    some, every = heard(tmp_path / "a.wav"), heard(tmp_path / "all.wav")
    bar = 6 * 0.32
    assert len(some) / RATE == pytest.approx(2 * bar + TAIL, abs=1e-4)
    assert len(every) / RATE == pytest.approx(17 * bar + TAIL, abs=1e-4)
    # The same tones, but for what is left of those before them.
    same = every[round(5 * bar * RATE) :][: len(some)]
    middle = slice(round(0.7 * bar * RATE), round(1.9 * bar * RATE))
    assert np.corrcoef(some[middle, 0], same[middle, 0])[0, 1] > 0.9
    with pytest.raises(CaesuraError, match=r"The song has no bar 18; it has 17 bars\."):
        song.save_sound(tmp_path / "b.wav", bars=(17, 19))
    assert not (tmp_path / "b.wav").exists()


def test_a_score_sounds_like_its_song(tmp_path):
    score = Score.from_bytes(small_score())
    score.save(tmp_path / "score.wav")
    score.song(1).save(tmp_path / "song.wav")
    assert (tmp_path / "score.wav").read_bytes() == (tmp_path / "song.wav").read_bytes()
    score.save_sound(tmp_path / "bar.wav", bars=(2, 3))
    assert len(heard(tmp_path / "bar.wav")) < len(heard(tmp_path / "score.wav")) / 2
    with pytest.raises(CaesuraError, match=r"no bar 9; it has 4 bars"):
        score.save_sound(tmp_path / "bar.wav", bars=(9, 10))


def test_drums_are_left_out_and_it_is_said(tmp_path):
    with_drums = Song.from_bytes(content(ode_to_joy()))
    without = Song(with_drums.ticks_per_beat, with_drums.tracks[:3])
    with pytest.warns(CaesuraWarning, match="has drums, which are left out of the sound"):
        with_drums.save(tmp_path / "a.wav")
    without.save(tmp_path / "b.wav")
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()


def test_what_is_too_long_or_too_much_is_refused(tmp_path, monkeypatch):
    tempo = Event(0, TEMPO + b"\3" + b"\xff\xff\xff")  # a beat has 16.8 seconds
    slow = notes((0, 500, 60, 80), end=60_000, more=(tempo,))
    with pytest.raises(CaesuraError, match=r"The song lasts 34 minutes: .* 30 at most\."):
        slow.save(tmp_path / "a.wav")
    monkeypatch.setattr(sound, "MOST_SECONDS", 10.0)
    with pytest.raises(CaesuraError, match="too many notes at once"):
        notes(*((0, 900, key, 80) for key in range(60, 70))).save(tmp_path / "a.wav")
    with pytest.raises(CaesuraError, match="is empty"):
        notes(end=0).save(tmp_path / "a.wav")
    with pytest.raises(CaesuraError, match="Cannot write"):
        notes((0, 100, 60, 80)).save(tmp_path / "nowhere" / "a.wav")
    assert not list(tmp_path.iterdir())


def test_a_minute_of_dense_music_takes_little_memory():
    """A block is freed before the next one is mixed."""
    played = [sound.Played(at / 8, at / 8 + 1, 30 + at % 60, 80) for at in range(480)]
    sizes = [block.nbytes for block in sound.mix(played, 60.0)]
    assert max(sizes) == sound.BLOCK * 4
    assert sum(sizes) == 4 * (round((60 + RELEASE) * RATE) + sound.ECHO)


@pytest.mark.filterwarnings("ignore:.* has drums")
def test_what_no_one_would_play_sounds_as_long_as_it_lasts(tmp_path):
    for seed in range(12):
        song = random_song(np.random.default_rng(seed), 48)
        song.save(tmp_path / "a.wav")
        (seconds,) = song.seconds([song.end])
        assert len(heard(tmp_path / "a.wav")) == round((seconds + RELEASE) * RATE) + sound.ECHO


def test_mido_reads_the_same_length(tmp_path):
    file = ode_to_joy()
    file.tracks.pop()  # the drums
    file.save(tmp_path / "a.mid")
    Song.load(tmp_path / "a.mid").save(tmp_path / "a.wav")
    seconds = mido.MidiFile(tmp_path / "a.mid").length
    assert len(heard(tmp_path / "a.wav")) / RATE == pytest.approx(seconds + TAIL, abs=1e-3)
