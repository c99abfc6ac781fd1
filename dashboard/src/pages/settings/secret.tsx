// Shows a new secret once.
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Notice } from '../../components/notice.tsx';
import styles from './settings.module.css';

interface SecretProps {
  readonly title: string;
  readonly value: string;
  /** How to use it. */
  readonly hint?: string;
  readonly onClose: () => void;
}

export function Secret({ title, value, hint, onClose }: SecretProps) {
  return (
    <Notice tone="warning" title={`${title}: shown only once`}>
      <div className={styles.secret}>
        {hint !== undefined && <p>{hint}</p>}
        <CodeBlock code={value} wraps />
        <div>
          <Button size="small" onClick={onClose}>
            I copied it
          </Button>
        </div>
      </div>
    </Notice>
  );
}
