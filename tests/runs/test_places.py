"""Places relative to a folder lead back to where they are, through symbolic links too."""

from __future__ import annotations

from pathlib import Path

from tiltmeter.storage.places import beside


def test_a_place_beside_a_linked_folder_leads_back_to_it(tmp_path: Path) -> None:
    place, link = tmp_path / "old", tmp_path / "link"
    place.mkdir()
    (tmp_path / "disk" / "deep" / "new").mkdir(parents=True)
    link.symlink_to(tmp_path / "disk" / "deep", target_is_directory=True)
    folder = link / "new"
    assert (folder / beside(place, folder)).samefile(place)
