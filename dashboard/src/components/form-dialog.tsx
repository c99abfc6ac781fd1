// A form in a dialog: fields, a submit button and Cancel.
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

interface FormDialogProps {
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly isWide?: boolean;
  /** Label of the submit button: "Create token". */
  readonly action: string;
  readonly onSubmit: () => void;
  /** The request is running. */
  readonly isPending: boolean;
  /** Disables submit beyond the validation of the fields. */
  readonly isDisabled?: boolean;
  readonly children: ReactNode;
}

/** @example <FormDialog onClose={close} title="New token" action="Create token" onSubmit={make} isPending>... */
export function FormDialog({ action, isPending, isDisabled = false, children, ...rest }: FormDialogProps) {
  return (
    <Dialog
      isOpen
      {...rest}
      footer={
        <>
          <Button onClick={rest.onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={isDisabled} isPending={isPending}>
            {action}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}
