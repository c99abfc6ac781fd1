// Where Chromium is installed: without a window where Debian has that, which takes a good part less CPU than the one
// with. Null: it is not installed.
import { existsSync } from 'node:fs';

export const chromium =
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) =>
    existsSync(path),
  ) ?? null;
