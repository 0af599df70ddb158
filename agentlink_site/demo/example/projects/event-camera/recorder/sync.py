"""Record one run: camera events and light pulses on one time base."""

import argparse


def offset(camera_us: int, light_us: int) -> int:
    """Microseconds from the light's clock to the camera's; positive when the camera is ahead."""
    return camera_us - light_us


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", type=int, required=True)
    parser.add_argument("--trigger", choices=["edge", "level"], default="edge")
    print(f"recording run {parser.parse_args().run}")


if __name__ == "__main__":
    main()
