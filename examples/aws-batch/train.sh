# Fits a line to the points of a CSV file by gradient descent: twenty epochs, with a checkpoint after each. Runs inside the container, with
# nothing but busybox: train.sh [EPOCH], which kills itself after that epoch.
set -eu
checkpoint=$MODEL_DIR/checkpoint
epoch=0 slope=0 offset=0
if [ -f "$checkpoint" ]; then
  read -r epoch slope offset <"$checkpoint"
  echo "resumed at epoch $epoch"
fi
while [ "$epoch" -lt 20 ]; do
  awk -F, -v epoch="$epoch" -v slope="$slope" -v offset="$offset" '
    { error = slope * $1 + offset - $2; slope -= 0.05 * error * $1; offset -= 0.05 * error }
    END { printf "%d %.6f %.6f\n", epoch + 1, slope, offset }' "$TRAINING_DATA" >"$checkpoint.new"
  mv "$checkpoint.new" "$checkpoint"
  echo "epoch $epoch"
  [ "$epoch" != "${1:-never}" ] || kill -9 $$
  read -r epoch slope offset <"$checkpoint"
done
mkdir -p "$EXPORT_PATH"
awk -F, -v slope="$slope" -v offset="$offset" '
  { error = slope * $1 + offset - $2; sum += error * error }
  END { printf "{\"slope\": %.6f, \"offset\": %.6f, \"test_error\": %.6f}\n", slope, offset, sum / NR }' "$TEST_DATA" >"$EXPORT_PATH/model.json"
echo "exported $(cat "$EXPORT_PATH/model.json")"
