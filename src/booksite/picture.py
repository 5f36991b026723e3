"""`python -m booksite.picture`: the README's moving picture, book/blocks.gif; its end, blocks.png. Needs Pillow."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from plotly.colors import sample_colorscale, unlabel_rgb

from topiclens import claims, figures, measures

STEPS = [0, 5, 10, 18, 28, 38, 50, 65, 80, 100, 125, 160, 220, 300, 400]
CELL, WIDTH, GAP, TOP = 3, 300, 18, 46  # pixels
LEVELS = 15  # shades of a matrix; with more the noise alone would fill the file
COLOURS = sample_colorscale(figures.SIGNED, np.linspace(0, 1, LEVELS))
PALETTE = [(255, 255, 255), (60, 60, 60), *map(unlabel_rgb, COLOURS)]  # paper, ink, shades


def frame(step: int, panels: dict[str, np.ndarray]) -> Image.Image:
    """Three (V, V) matrices side by side, each in −1 … 1."""
    image = Image.new("P", (3 * WIDTH + 4 * GAP, WIDTH + TOP + GAP))
    image.putpalette(bytes(round(c) for colour in PALETTE for c in colour))
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(15)
    draw.text((GAP, 4), f"step {step}", fill=1, font=font)
    for n, (name, matrix) in enumerate(panels.items()):
        shade = np.rint((matrix.clip(-1, 1) + 1) / 2 * (LEVELS - 1)).astype(np.uint8) + 2
        x = GAP + n * (WIDTH + GAP)
        image.paste(Image.fromarray(shade.repeat(CELL, 0).repeat(CELL, 1), "P"), (x, TOP))
        draw.text((x, TOP - 22), name, fill=1, font=font)
    return image


if __name__ == "__main__":
    how = {"steps": STEPS[-1], "checkpoints": STEPS, "batch_size": 128}
    E, W_V = claims.train_embeddings(**how).matrices["W_E"], claims.train_values(**how, lr=0.01).matrices["W_V"]
    W = claims.train_attention(see_selected=False, **how).matrices
    scores = measures.attention_scores(W["W_K"], W["W_Q"])
    stacks = {"embeddings: inner products": measures.gram(E) / 0.2, "value matrix": W_V / 0.2}
    stacks = {n: measures.between_words(m) for n, m in (stacks | {"attention: scores": scores / 3}).items()}
    frames = [frame(step, {n: m[k] for n, m in stacks.items()}) for k, step in enumerate(STEPS)]
    durations = [300] * (len(frames) - 1) + [4000]  # milliseconds
    frames[0].save("book/blocks.gif", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    frames[-1].save("book/blocks.png")
