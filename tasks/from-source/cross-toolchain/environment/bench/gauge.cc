// gauge: reads "NAME VALUE" lines, prints the mean and the spread of each name, in order of names.
// A line that is none ends it with status 3, and says which.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct wrong_line : std::runtime_error {
    using std::runtime_error::runtime_error;
};

double number(const std::string &text)
{
    char *end;
    double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end)
        throw wrong_line(text);
    return value;
}

} // namespace

int main()
try {
    std::map<std::string, std::vector<double>> readings;
    std::string line;
    for (int c; (c = std::getchar()) != EOF;) {
        if (c != '\n') {
            line += static_cast<char>(c);
            continue;
        }
        std::size_t space = line.find(' ');
        if (space == std::string::npos)
            throw wrong_line(line);
        readings[line.substr(0, space)].push_back(number(line.substr(space + 1)));
        line.clear();
    }
    for (const auto &[name, values] : readings) {
        double sum = 0, squares = 0;
        for (double value : values)
            sum += value;
        double mean = sum / values.size();
        for (double value : values)
            squares += (value - mean) * (value - mean);
        std::printf("%s %.6f %.6f\n", name.c_str(), mean, std::sqrt(squares / values.size()));
    }
} catch (const wrong_line &wrong) {
    std::fprintf(stderr, "gauge: %s\n", wrong.what());
    return 3;
}
