// Shows a new secret, once.
import { Button } from '../components/button.tsx';
import { CodeBlock } from '../components/code-block.tsx';
import { Dialog } from '../components/dialog.tsx';

export interface SecretProps {
  /** Title of the dialog: "New token". */
  readonly title: string;
  readonly value: string;
  /** Says how to use the secret. */
  readonly hint?: string;
  readonly onClose: () => void;
}

export function Secret({ title, value, hint, onClose }: SecretProps) {
  return (
    <Dialog
      isOpen
      isKept
      onClose={onClose}
      title={`${title}: shown only once`}
      description={hint}
      footer={
        <Button variant="primary" onClick={onClose}>
          I copied it
        </Button>
      }
    >
      <CodeBlock code={value} wraps />
    </Dialog>
  );
}
