"""A small folder in the layout of LFW: grey faces that are noise around a pattern of their person's."""

import numpy as np

N_FOLDS, SIZE, PEOPLE = 4, 6, 6


def pairs_lines(n_folds=N_FOLDS, size=SIZE):
    """The lines of a pairs file: people of their own in each fold, three images each."""
    lines = [f"{n_folds}\t{size}"]
    for fold in range(n_folds):
        names = [f"Person_{fold}{chr(97 + i)}" for i in range(PEOPLE)]
        lines += [f"{names[i % PEOPLE]}\t{1 + i // PEOPLE % 2}\t3" for i in range(size)]
        lines += [f"{names[i % PEOPLE]}\t1\t{names[(i + 1) % PEOPLE]}\t2" for i in range(size)]
    return lines


def write_attributes(path, images, n_attributes=5, skip=()):
    """A file like Columbia's: a comment, the head, and tab-separated rows with spaces in names."""
    generator = np.random.default_rng(1)
    base = {person: generator.normal(size=n_attributes) for person in sorted({person for person, _ in images})}
    names = "\t".join(f"Attribute {i}" for i in range(n_attributes))
    lines = ["#\tAttributes for the database", f"#\tperson\timagenum\t{names}"]
    for person, number in images:
        if (person, number) not in skip:
            values = base[person] + 0.1 * generator.normal(size=n_attributes)
            lines.append("\t".join([person.replace("_", " "), str(number), *(f"{v:.6f}" for v in values)]))
    path.write_text("\n".join(lines) + "\n")


def write_images(folder, images):
    import cv2

    generator = np.random.default_rng(0)
    patterns = {}
    for person, number in images:
        if person not in patterns:
            patterns[person] = cv2.resize(generator.integers(0, 256, (25, 25), dtype=np.uint8), (250, 250))
        noisy = np.clip(patterns[person] + generator.normal(0, 10, (250, 250)), 0, 255).astype(np.uint8)
        path = folder / person / f"{person}_{number:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(cv2.imencode(".jpg", noisy)[1].tobytes())


def write_landmarks(path, file_names):
    """Points of an average face, a little moved; the first was not found."""
    from radiusmargin.paper.faces.landmarks import SHAPE

    points = np.array(SHAPE) + np.random.default_rng(2).normal(size=(len(file_names), 9, 2))
    np.savez(path, files=file_names, points=points, detected=np.arange(len(file_names)) > 0)
