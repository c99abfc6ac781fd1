// Finds Chromium; null if it is not installed.
import { existsSync } from 'node:fs';

const firstOf = (...paths: readonly string[]): string | null => paths.find((path) => existsSync(path)) ?? null;

/** Regular browsers. */
export const chromium = firstOf('/usr/bin/chromium', '/usr/bin/chromium-browser');
/** Debian's headless build, preferred because it uses less CPU. */
export const windowlessChromium = firstOf('/usr/bin/chromium-headless-shell') ?? chromium;
