// Where Chromium is installed; null: it is not.
import { existsSync } from 'node:fs';

const firstOf = (...paths: readonly string[]): string | null => paths.find((path) => existsSync(path)) ?? null;

/** As people have it. */
export const chromium = firstOf('/usr/bin/chromium', '/usr/bin/chromium-browser');
/** Without a window, where Debian has that: it takes a good part less CPU. */
export const windowlessChromium = firstOf('/usr/bin/chromium-headless-shell') ?? chromium;
