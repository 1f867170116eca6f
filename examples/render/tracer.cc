#include "tracer.h"

#include "path.h"

namespace render {

namespace {

constexpr float kTolerance = 0.10F;  // of a pixel's brightness; a standard deviation below it needs no more samples

/// Sums up the samples of one pixel.
class Exposure {
 public:
  void add(const Seen& seen) {
    const float bright = luminance(seen.light);
    sum_.light += seen.light;
    sum_.albedo += seen.albedo;
    sum_.normal += seen.normal;
    sum_.depth += seen.depth;
    squares_ += bright * bright;
    ++count_;
  }

  Pixel mean() const {
    const float count = static_cast<float>(count_);
    Pixel pixel{sum_.light / count, 0, sum_.albedo / count, sum_.normal / count, sum_.depth / count};
    const float bright = luminance(pixel.light);
    pixel.variance = std::max(squares_ / count - bright * bright, 0.0F) / count;
    return pixel;
  }

  /// How many samples it would take to be as sure of the light as the eye cares for.
  float samples_wanted() const {
    const Pixel pixel = mean();
    const float tolerance = kTolerance * (luminance(pixel.light) + 0.1F);
    return pixel.variance / (tolerance * tolerance) * static_cast<float>(count_);
  }

  std::uint32_t count() const { return count_; }

 private:
  Seen sum_;
  float squares_ = 0;
  std::uint32_t count_ = 0;
};

/// The exposures of all pixels while they are being taken.
class Plate {
 public:
  Plate(const Scene& scene, const Camera& camera, int width, int height, std::uint32_t seed)
      : sampler_(seed),
        tracer_(scene, sampler_),
        camera_(camera),
        width_(width),
        height_(height),
        exposures_(static_cast<std::size_t>(width) * height) {}

  /// Takes one round of samples through each pixel.
  void expose_once() {
    for (int row = 0; row < height_; ++row) {
      for (int column = 0; column < width_; ++column) expose(column, row, Sampler::kRound);
    }
  }

  /// Takes the samples that each pixel and its neighbours show to be wanting. A pixel alone would be too easily
  /// content: one that has missed a small bright thing by chance does not know that it is there.
  void expose_as_wanted(std::uint32_t most_samples) {
    std::vector<float> wanted;
    wanted.reserve(exposures_.size());
    for (const Exposure& exposure : exposures_) wanted.push_back(exposure.samples_wanted());
    for (int row = 0; row < height_; ++row) {
      for (int column = 0; column < width_; ++column) {
        const float here = mean_around(wanted, column, row);
        const std::uint32_t samples = std::min(static_cast<std::uint32_t>(std::min(here, 1e6F)), most_samples);
        expose(column, row, samples / Sampler::kRound * Sampler::kRound);
      }
    }
  }

  Traced develop() const {
    Traced traced{{width_, height_, {}}, 0, tracer_.rays()};
    for (const Exposure& exposure : exposures_) {
      traced.film.pixels.push_back(exposure.mean());
      traced.paths += exposure.count();
    }
    return traced;
  }

 private:
  void expose(int column, int row, std::uint32_t samples);
  float mean_around(const std::vector<float>& values, int column, int row) const;
  std::size_t index(int column, int row) const { return static_cast<std::size_t>(row) * width_ + column; }

  Sampler sampler_;
  PathTracer tracer_;
  const Camera& camera_;
  int width_;
  int height_;
  std::vector<Exposure> exposures_;
};

/// Goes on until the pixel has had so many samples.
void Plate::expose(int column, int row, std::uint32_t samples) {
  Exposure& exposure = exposures_[index(column, row)];
  const float scale = 2 / static_cast<float>(width_);
  while (exposure.count() < samples) {
    sampler_.start_path(static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(row), exposure.count());
    const Point2 spot = sampler_.next();
    const float x = (static_cast<float>(column) + spot.x) * scale - 1;
    const float y = (static_cast<float>(height_) / 2 - static_cast<float>(row) - spot.y) * scale;
    exposure.add(tracer_.follow(camera_.ray_through(x, y, sampler_.next())));
  }
}

float Plate::mean_around(const std::vector<float>& values, int column, int row) const {
  float sum = 0;
  float count = 0;
  for (int y = std::max(row - 1, 0); y <= std::min(row + 1, height_ - 1); ++y) {
    for (int x = std::max(column - 1, 0); x <= std::min(column + 1, width_ - 1); ++x) {
      sum += values[index(x, y)];
      count += 1;
    }
  }
  return sum / count;
}

}  // namespace

Traced trace(const Scene& scene, const Camera& camera, int width, int height, std::uint32_t most_samples,
             std::uint32_t seed) {
  Plate plate(scene, camera, width, height, seed);
  plate.expose_once();
  plate.expose_as_wanted(most_samples);
  return plate.develop();
}

}  // namespace render
