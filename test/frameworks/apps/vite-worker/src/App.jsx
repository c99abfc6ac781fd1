import { useState } from 'react';

export default function App() {
  const [count, setCount] = useState(0);
  return (
    <main>
      <h1>Hello, stranger</h1>
      <p>version</p>
      <button onClick={() => setCount((before) => before + 1)}>{`clicked ${count} times`}</button>
    </main>
  );
}
