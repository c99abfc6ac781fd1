// The list of keyboard shortcuts. shell.tsx loads it when `?` is pressed.
import { Dialog } from '../components/dialog.tsx';
import styles from './shell.module.css';
import { shownShortcuts } from './shortcuts.ts';

/** Shortcuts of every table (table.tsx). */
const ofLists = [
  ['Enter', 'Open the row'],
  ['Esc', 'Close what is open'],
] as const;

export default function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog isOpen onClose={onClose} title="Keyboard shortcuts">
      <dl className={styles.keys}>
        {[...shownShortcuts, ...ofLists].map(([keys, does]) => (
          <div key={keys} style={{ display: 'contents' }}>
            <dt>{does}</dt>
            <dd>
              <kbd>{keys.replace('mod+k', 'Ctrl K')}</kbd>
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
