// Keyboard shortcuts, global and per page. Typing into a field triggers no shortcuts.
import { useEffect, useEffectEvent } from 'react';

const TOGETHER_MS = 900;

/** A shortcut. */
interface Shortcut {
  /** One key (`?`, `j`), two keys in sequence (`g d`), or one key with Ctrl or Cmd (`mod+k`). */
  readonly keys: string;
  /** Description in the list of shortcuts. */
  readonly does: string;
  readonly act: () => void;
}

/** Shortcuts of all mounted components. */
export const shownShortcuts = new Map<string, string>();

/** @example useShortcuts([{ keys: 'n', does: 'New variable', act: open }]) */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const known = shortcuts.map(({ keys, does }) => `${keys}\0${does}`).join('\n');
  const act = useEffectEvent((keys: string): boolean => {
    const found = shortcuts.find((one) => one.keys === keys);
    found?.act();
    return found !== undefined;
  });
  useEffect(() => {
    const own = known
      .split('\n')
      .filter(Boolean)
      .map((text) => text.split('\0') as [keys: string, does: string]);
    for (const [keys, does] of own) shownShortcuts.set(keys, does);
    let [before, at] = ['', 0];
    const onKey = (event: KeyboardEvent): void => {
      const isCommand = event.ctrlKey || event.metaKey;
      if (event.defaultPrevented || event.altKey || event.isComposing || (!isCommand && isTyped(event))) return;
      const key = isCommand ? `mod+${event.key.toLowerCase()}` : event.key;
      const pair = performance.now() - at < TOGETHER_MS ? `${before} ${key}` : '';
      [before, at] = [key, performance.now()];
      // Ignore shortcuts of the page while a dialog is open.
      if (!isCommand && document.querySelector('[data-locks-scroll]') !== null) return;
      if ((pair !== '' && act(pair)) || act(key)) event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => {
      removeEventListener('keydown', onKey);
      for (const [keys] of own) shownShortcuts.delete(keys);
    };
  }, [known]);
}

function isTyped({ composedPath, target }: KeyboardEvent): boolean {
  void composedPath;
  const element = target as HTMLElement | null;
  return (
    element?.closest?.('input, textarea, select, [contenteditable=true], .cm-editor') != null ||
    element?.shadowRoot != null
  );
}
