// The container of toasts, in a root of its own. toast.ts loads this file, once.
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { Toaster } from 'sonner';
import 'sonner/dist/styles.css';
import styles from './toast.module.css';

export { toast } from 'sonner';

const container = document.body.appendChild(document.createElement('div'));
const root = createRoot(container);
// Rendered synchronously, because the library drops toasts that are sent before its container listens.
flushSync(() =>
  root.render(<Toaster className={styles.toaster ?? ''} position="bottom-right" visibleToasts={4} gap={8} />),
);
