#!/bin/sh
# Takes report.png and terminal.png anew: the top of the page that a run ends with, and what a terminal shows of it, for the
# embedded models on the embedded benchmarks. Pictures of sentences are taken of our own benchmarks only: the others have
# licences of their own.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
cd "$out"
python "$here/terminal.py" 80 "$out/terminal.png" tiltmeter run -o plumb
chromium --headless=new --no-sandbox --hide-scrollbars --window-size=1200,1480 --force-device-scale-factor=1.5 \
  --screenshot="$out/report.png" "file://$out/plumb/report.html"
for name in report terminal; do
  python -c "
import sys
from PIL import Image
Image.open(sys.argv[1]).convert('RGB').quantize(128, 2, dither=0).save(sys.argv[2], optimize=True)
" "$out/$name.png" "$here/$name.png"
done
rm -r "$out"
