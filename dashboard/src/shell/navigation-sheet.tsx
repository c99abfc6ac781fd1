// The navigation on small screens, in a sheet. shell.tsx loads this file when it is first opened.
import { Sheet } from '../components/dialog.tsx';
import { Navigation } from './navigation.tsx';

export default function NavigationSheet({ onClose }: { readonly onClose: () => void }) {
  return (
    <Sheet isOpen onClose={onClose} title="Navigation" side="left">
      <Navigation />
    </Sheet>
  );
}
